// The layout of github.com/jonhoo/drwmutex (number 9 there): a lock for readers and writers of each CPU, in one
// slice. Readers lock their own and still share lines. The fix pads each lock. PROGRAM [apart] REPEATS
package main

import (
	"os"
	"strconv"
	"sync"
)

type lock interface{ reader(cpu int) sync.Locker }

type plain []sync.RWMutex

func (all plain) reader(cpu int) sync.Locker { return all[cpu].RLocker() }

type apart []struct {
	_  [64]byte
	of sync.RWMutex
	_  [64]byte
}

func (all apart) reader(cpu int) sync.Locker { return all[cpu].of.RLocker() }

func main() {
	repeats, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		os.Exit(2)
	}
	var locks lock = make(plain, 2)
	if len(os.Args) > 2 {
		locks = make(apart, 2)
	}
	var both sync.WaitGroup
	for cpu := 0; cpu < 2; cpu++ {
		both.Add(1)
		go func(reader sync.Locker) {
			defer both.Done()
			for i := 0; i < repeats; i++ {
				reader.Lock()
				reader.Unlock()
			}
		}(locks.reader(cpu))
	}
	both.Wait()
}
