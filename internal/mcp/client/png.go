package client

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// repairPNG sets the checksums of a PNG's chunks right: servers send images with
// wrong ones, which other readers overlook. The picture itself has a checksum of
// its own, so what is damaged still does not pass. Data of any other shape is
// nil.
func repairPNG(data []byte) []byte {
	if !bytes.HasPrefix(data, pngMagic) {
		return nil
	}
	out := bytes.Clone(data)
	for rest := out[len(pngMagic):]; len(rest) > 0; {
		if len(rest) < 12 {
			return nil
		}
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest)-12) {
			return nil
		}
		binary.BigEndian.PutUint32(rest[8+n:], crc32.ChecksumIEEE(rest[4:8+n]))
		if string(rest[4:8]) == "IEND" {
			return out[:len(out)-len(rest)+12]
		}
		rest = rest[12+n:]
	}
	return nil
}
