. ./lib/cart.sh
. ./lib/format.sh
failed=0
check() {
	if [ "$2" = "$3" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: got $2, want $3"
		failed=1
	fi
}
check 'one piece' "$(total 250 1)" 250
check 'nine pieces' "$(total 250 9)" 2250
check 'ten pieces are cheaper' "$(total 250 10)" 2250
check 'an amount for people' "$(euros 2250)" '22.50 EUR'
exit $failed
