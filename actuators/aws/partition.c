#include "partition.h"

#include <stddef.h>
#include <string.h>

#include "aws/region.h"
#include "base/text.h"

/* Source: the SDKs' partitions file. */
static const struct partition partitions[] = {
	{"aws", {"us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"}, "amazonaws.com", "api.aws", true, true},
	{"aws-cn", {"cn"}, "amazonaws.com.cn", "api.amazonwebservices.com.cn", true, true},
	{"aws-us-gov", {"us-gov"}, "amazonaws.com", "api.aws", true, true},
	{"aws-eusc", {"eusc-de"}, "amazonaws.eu", "api.amazonwebservices.eu", true, true},
	{"aws-iso", {"us-iso"}, "c2s.ic.gov", "api.aws.ic.gov", true, true},
	{"aws-iso-b", {"us-isob"}, "sc2s.sgov.gov", "api.aws.scloud", true, true},
	{"aws-iso-e", {"eu-isoe"}, "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", true, true},
	{"aws-iso-f", {"us-isof"}, "csp.hci.ic.gov", "api.aws.hci.ic.gov", true, true},
};

static bool in_partition(const struct partition *partition, const char *region)
{
	for (size_t i = 0; partition->prefixes[i] != NULL; i++) {
		size_t size = strlen(partition->prefixes[i]);
		const char *word = region + size + 1;
		size_t word_size;

		if (strncmp(region, partition->prefixes[i], size) != 0 || region[size] != '-')
			continue;
		word_size = strcspn(word, "-");
		if (word_size > 0 && word[word_size] == '-' && text_all_digits(word + word_size + 1))
			return true;
	}
	return false;
}

const struct partition *partition_of(const char *region)
{
	for (size_t i = 0; region != NULL && i < sizeof(partitions) / sizeof(partitions[0]); i++) {
		if (in_partition(&partitions[i], region))
			return &partitions[i];
	}
	return &partitions[0];
}

const char *aws_partition(const char *region)
{
	return partition_of(region)->name;
}
