"""Brokers for development and tests: a real Apache Kafka, and the mock cluster that needs nothing installed."""

from .cluster import RealCluster
from .embedded import EmbeddedBroker
from .real import RealBroker

__all__ = ["EmbeddedBroker", "RealBroker", "RealCluster", "embedded"]
