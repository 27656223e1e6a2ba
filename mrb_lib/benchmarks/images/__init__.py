"""How is an image of unknown origin decoded, so that what is shown never depends on the viewer?

`pictures` makes 8-bit pictures and PNG files of any readable image, `pixels` keeps the depth it was recorded with, and
`dicom` reads DICOM files.
"""
