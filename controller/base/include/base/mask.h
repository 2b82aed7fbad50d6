/*
 * Taking out of a stranger's sentence what looks like a secret, before it is shown: what another program wrote may hold anything.
 *
 * Masked ("***"): what follows a word that ends with key, token, secret, password, passwd, credential or signature and "=", a quote, or ":" (then only if
 * there is a digit in it: the rest is prose), or the word Bearer or Basic; any word of 16 characters or more that mixes letters and digits, paths and host
 * names aside; and any word of 64. A net with holes, for what should not be there in the first place.
 */
#ifndef BASE_MASK_H
#define BASE_MASK_H

#define MASK_MAX_BYTES 1024

/* In place; it never gets longer, and is cut to MASK_MAX_BYTES. */
void mask_secrets(char *sentence);

#endif
