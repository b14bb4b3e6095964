// Goroutines that share a line: share HOW N, where HOW is atomic, plain, or apart for counters on lines of their own.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

const apart = 64

var counters [2 * apart]int64

func atomically(mine *int64, repeats int) {
	for i := 0; i < repeats; i++ {
		atomic.AddInt64(mine, 1)
	}
}

func plainly(mine *int64, repeats int) {
	for i := 0; i < repeats; i++ {
		*mine++
	}
}

func main() {
	work, between := atomically, 1
	if os.Args[1] == "plain" {
		work = plainly
	} else if os.Args[1] == "apart" {
		between = apart
	}
	repeats, _ := strconv.Atoi(os.Args[2])
	var all sync.WaitGroup
	for rank := 0; rank < 2; rank++ {
		mine := &counters[rank*between]
		all.Add(1)
		go func() {
			work(mine, repeats)
			all.Done()
		}()
	}
	all.Wait()
	fmt.Println("done")
}
