"""A few lines that evacuate: what the bed is tried with. Usage: stand_in.py URL ZONE KEY SECRET"""

from __future__ import annotations

import sys

import boto3


def main(url: str, zone: str, key: str, secret: str) -> None:
    session = boto3.Session(key, secret, region_name="us-east-1")
    clients = {name: session.client(name, endpoint_url=url) for name in ("ec2", "autoscaling", "dynamodb")}
    clients["ec2"].describe_availability_zones(ZoneIds=[zone])
    filters = [{"Name": "availability-zone-id", "Values": [zone]}]
    gone = {subnet["SubnetId"] for subnet in clients["ec2"].describe_subnets(Filters=filters)["Subnets"]}
    for group in clients["autoscaling"].describe_auto_scaling_groups()["AutoScalingGroups"]:
        subnets = group["VPCZoneIdentifier"].split(",")
        kept = [subnet for subnet in subnets if subnet not in gone]
        if not kept or kept == subnets:
            continue
        item = {"zoneId": zone, "resourceId": group["AutoScalingGroupARN"], "resourceType": "AutoScalingGroup"}
        clients["dynamodb"].put_item(TableName="zonevac-journal", Item={k: {"S": v} for k, v in item.items()})
        clients["autoscaling"].update_auto_scaling_group(
            AutoScalingGroupName=group["AutoScalingGroupName"], VPCZoneIdentifier=",".join(kept)
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
