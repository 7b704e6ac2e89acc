// Command bench measures the program as a whole against a model's API on this
// machine that answers at once, and prints a table of medians in Markdown:
//
//	go run ./bench            # everything, about a minute
//	go run ./bench -runs 5    # fewer repetitions
//
// It is no test: nothing here fails because something was slow.
package main
