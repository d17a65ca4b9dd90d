import _socket as s,array,time
c=s.socket(1)
for i in range(15000):
 try:c.connect("\0sandcell");break
 except OSError:time.sleep(.002)
if c.getsockopt(1,17,12)[:4].strip(b"\0")!=b"\1":raise SystemExit("peer is not pid 1")
c.sendmsg([b"c"],[(1,1,array.array("i",[0,1]))]);c.recv(1)
