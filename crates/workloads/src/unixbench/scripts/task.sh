#!/bin/sh
# Sorts a text, dumps it in octal, sorts the dump, and filters lines: UnixBench's shell task, with the same commands.
sort >sort.$$ <words.txt
od sort.$$ | sort -n -k 1 >od.$$
grep the sort.$$ | tee grep.$$ | wc >wc.$$
rm -f sort.$$ grep.$$ od.$$ wc.$$
