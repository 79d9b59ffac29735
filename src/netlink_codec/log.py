"""The logger `netlink_codec`: silent until the program configures logging."""


def warning(text: str, *arguments: object) -> None:
    """Log something that is no error but that somebody should know."""
    try:
        # Imported when there is something to say: it takes half as long as all of this package.
        import logging
    except OSError:  # no descriptor is left to read it with
        return
    logger = logging.getLogger("netlink_codec")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.warning(text, *arguments)
