import socket as s,os
l=s.socket(1);l.bind("\0sandcell");l.listen(8);l.settimeout(60)
import json,select,signal,ctypes
c=l.accept()[0];f=s.recv_fds(c,1,2)[1]
def r(n):
 b=b""
 while len(b)<n:b+=os.read(f[0],n-len(b))or os._exit(9)
 return b
exec(r(int.from_bytes(r(4),"big")))
