"""How are a benchmark made from images (`construct`) and a judge from a benchmark (`training`)?"""
