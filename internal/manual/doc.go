// Package manual answers: is what the manual says true?
//
// Its tests write the pages of docs/reference from the code and hold that they are current, follow every link of every page,
// and build the site. The commands of the tutorial are run in the lab (plane/story). What a page says in prose is asked in review.
package manual
