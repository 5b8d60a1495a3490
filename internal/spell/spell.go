// Package spell answers: which word was meant?
//
// It compares words letter by letter. What to do about a likeness, and which words there are, others know.
package spell

import "strings"

// Nearest returns the word of the list that takes the fewest changes to become the given one, capitals apart, and how many these are;
// the first of equals. "" and -1 when the list is empty. O(letters of the word × letters of the list).
func Nearest(word string, list []string) (best string, changes int) {
	changes = -1
	for _, w := range list {
		if d := Distance(strings.ToLower(word), strings.ToLower(w)); changes < 0 || d < changes {
			best, changes = w, d
		}
	}
	return best, changes
}

// Distance counts the bytes to insert, delete or replace to make a word of another. O(len(a) × len(b)).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
