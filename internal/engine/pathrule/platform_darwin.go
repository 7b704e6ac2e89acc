package pathrule

var host = platform{darwin: true}
