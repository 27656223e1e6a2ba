"""Can a model be taught to judge as the annotators do: training cases, methods, and the proof of what was seen?"""
