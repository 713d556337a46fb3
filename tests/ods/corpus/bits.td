class Bits { bits<8> all; bits<4> low; bit one; }
def literal : Bits { let all = 0x5A; let low = {1, 0, 1, 1}; let one = 1; }
def ranges : Bits { let all{7-4} = 0b1010; let all{3-0} = 5; let low{0} = 1; let low{1...2} = 0; let one = 0; }
def negative : Bits { let all = -1; let low = -8; }
def fromBits { bits<8> whole = 0xA5; bits<4> high = whole{7-4}; bits<2> picked = whole{0, 2}; bit top = whole{7};
  int number = whole; bits<4> joined = {whole{0}, whole{1}, 1, 0}; }
