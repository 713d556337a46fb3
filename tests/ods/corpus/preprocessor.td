#define INSIDE
#ifdef INSIDE
def taken { int a = 1; }
  #ifndef INSIDE
  def notTaken;
  #else  // comment
  def nestedElse;
  #endif
#else
def alsoNot "this is skipped (
#endif
#ifdef GIVEN
def given;
#endif
/* block /* nested */ comment */
include "included.inc"
def pasted#Name { string s = "x" # "y"; }
def last { Included i = fromInclude; }
