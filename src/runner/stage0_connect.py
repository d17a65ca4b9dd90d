import socket as s,time
c=s.socket(1)
for i in range(3000):
 try:c.connect("\0sandcell");break
 except OSError:time.sleep(.01)
if c.getsockopt(1,17,12)[:4].strip(b"\0")!=b"\1":raise SystemExit("peer is not pid 1")
s.send_fds(c,[b"c"],[0,1]);c.recv(1)
