package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// What a directory of cases may come to. A file of 64 MiB holds some 300,000 pods; the sum is half of what the chart's volume may
// hold, so that writing one more before the oldest goes does not end the pod.
const (
	maxFiles = 8
	maxFile  = 64 << 20
	maxSum   = 128 << 20
)

const (
	prefix = "refused-plan-"
	suffix = ".txt"
)

// Outcome says what became of a case. Exactly one of Path and Err is set.
type Outcome struct {
	Path string // the file that was written
	Err  error  // why none was
}

// Keeper writes cases into a directory: one file per defect, a bounded number of files of bounded size, the oldest going first. It
// never holds up whoever has a case, and a directory that cannot be written breaks nothing. Safe for concurrent use.
type Keeper struct {
	dir  string
	told func(Outcome)

	// mu guards the fields below. It is never held while a file is written.
	mu   sync.Mutex
	busy bool
	met  map[string]bool // file names; what is met once by this process is not written again
	wg   sync.WaitGroup
}

// New makes a keeper of the directory; "" keeps nothing. It touches no file before there is a case. told is called from another
// goroutine with each outcome.
func New(dir string, told func(Outcome)) *Keeper {
	return &Keeper{dir: dir, told: told, met: map[string]bool{}}
}

// Keep writes the case in the background, unless this defect has a file already or another case is being written just now; then
// it does nothing, and the defect may be kept when it shows again.
func (k *Keeper) Keep(c Case) {
	name := fileName(c)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dir == "" || k.busy || k.met[name] {
		return
	}
	k.busy, k.met[name] = true, true
	k.wg.Go(func() {
		path := filepath.Join(k.dir, name)
		written, err := k.write(path, c)
		k.mu.Lock()
		k.busy = false
		k.mu.Unlock()
		switch {
		case err != nil:
			k.told(Outcome{Err: err})
		case written:
			k.told(Outcome{Path: path})
		}
	})
}

// Wait returns when nothing is being written.
func (k *Keeper) Wait() { k.wg.Wait() }

// fileName is the same for cases of the same defect in the same version of the controller.
func fileName(c Case) string {
	rules := c.Rules()
	h := fnv.New32a()
	fmt.Fprintln(h, c.Version, rules)
	if c.Crash != nil {
		fmt.Fprintln(h, c.Crash.Site)
	}
	const named = 3
	return fmt.Sprintf("%s%s-%08x%s", prefix, strings.Join(rules[:min(named, len(rules))], "+"), h.Sum32(), suffix)
}

// write reports false when an earlier process has written the file.
func (k *Keeper) write(path string, c Case) (bool, error) {
	if _, err := os.Stat(path); err == nil {
		return false, nil
	}
	text := c.Text()
	if len(text) > maxFile {
		return false, fmt.Errorf("write %s: the picture takes %d MiB, at most %d are kept", path, len(text)>>20, maxFile>>20)
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return false, err
	}
	if err := k.makeRoom(int64(len(text))); err != nil {
		return false, err
	}
	// Nobody ever sees half a file.
	f, err := os.CreateTemp(k.dir, ".being-written-*")
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	return true, nil
}

// makeRoom removes the oldest cases until another of the size may come. It touches no file that is not a case.
func (k *Keeper) makeRoom(size int64) error {
	have, err := List(k.dir)
	if err != nil {
		return err
	}
	sum := size
	for _, f := range have {
		sum += f.Size()
	}
	for ; len(have) > 0 && (len(have) >= maxFiles || sum > maxSum); have = have[1:] {
		if err := os.Remove(filepath.Join(k.dir, have[0].Name())); err != nil {
			return err
		}
		sum -= have[0].Size()
	}
	return nil
}

// List returns the cases in a directory, the oldest first; none when there is no such directory.
func List(dir string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []fs.FileInfo
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		if info, err := e.Info(); err == nil { // gone in between: it is not there
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	return out, nil
}
