"""Difficulty of cases, and weakness of judges in a subfield beyond it.

The Rasch model places cases and judges on one scale; differential item functioning compares judges on cases that are
equally hard for all.
"""
