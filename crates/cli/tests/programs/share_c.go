// What makes a program a dynamic one.
package main

import "C"
