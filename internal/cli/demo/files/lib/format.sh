# euros CENTS: an amount for people.
euros() {
	printf '%d.%02d EUR\n' "$(($1 / 100))" "$(($1 % 100))"
}
