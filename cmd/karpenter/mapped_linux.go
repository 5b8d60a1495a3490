package main

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mappedFrom is the size in bytes from which a file is mapped into memory instead of read.
const mappedFrom = 16 << 20

// giveBack is how often the pages of a mapped file are given back. A gigabyte a second is read, so
// that some twenty megabytes of it are in memory at a time; what is read again comes from the cache.
const giveBack = 20 * time.Millisecond

// mapped maps a file into memory, so that a large dump does not have to fit there. The text must
// not be changed. Until done is called, its pages are given back again and again; the text stays
// readable then, too. Reading a file that was cut meanwhile is a fault: see simulate.Read.
func mapped(f *os.File, size int) (text []byte, done func(), err error) {
	text, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	ticker, ended := time.NewTicker(giveBack), make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = unix.Madvise(text, unix.MADV_DONTNEED) // it only costs memory when it fails
			case <-ended:
				return
			}
		}
	}()
	return text, sync.OnceFunc(func() { close(ended) }), nil
}
