//go:build !linux

package main

import (
	"errors"
	"math"
	"os"
)

// mappedFrom is the size in bytes from which a file is mapped into memory: none is, here.
const mappedFrom = math.MaxInt

func mapped(*os.File, int) ([]byte, func(), error) { return nil, nil, errors.ErrUnsupported }
