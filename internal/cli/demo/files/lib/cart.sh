# total PRICE QUANTITY: the price of several pieces, in cents.
# Ten pieces and more are ten percent cheaper.
total() {
	sum=$(($1 * $2))
	if [ "$2" -gt 10 ]; then
		sum=$((sum * 90 / 100))
	fi
	echo "$sum"
}
