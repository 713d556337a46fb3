"""The bang operators: `!add`, `!foreach`, `!cast`, ..."""

from oneop.ods.bang.simple import SIMPLE as SIMPLE
from oneop.ods.bang.simple import Bang as Bang
from oneop.ods.bang.special import SPECIAL as SPECIAL
from oneop.ods.bang.special import If as If
from oneop.ods.bang.special import Loop as Loop
from oneop.ods.bang.special import MakeDag as MakeDag
from oneop.ods.bang.special import Typed as Typed
