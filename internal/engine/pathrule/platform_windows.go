package pathrule

var host = platform{windows: true}
