package model

import "fmt"

// Count says how many there are of something, for people: "1 pod", "2 pods". noun is one whose plural has an s.
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
