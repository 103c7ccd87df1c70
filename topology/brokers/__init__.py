"""Brokers for development and tests: a real Apache Kafka, and the mock cluster that needs nothing installed."""

from .embedded import EmbeddedBroker
from .real import RealBroker

__all__ = ["EmbeddedBroker", "RealBroker", "embedded"]
