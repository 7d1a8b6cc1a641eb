"""Translation memories and files of translation tools: TMX and XLIFF."""
