#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string_view>

/// What reading and writing the pickles of PyTorch have in common: opcodes of protocol 2 (and those of 3 and
/// 4 that are met), and the names of storages. The opcodes' meaning is documented in Python's pickletools.
namespace det::pytorch::pickle {

enum class Op : unsigned char {
  Proto = 0x80,
  Stop = '.',
  Mark = '(',
  Pop = '0',
  PopMark = '1',
  Dup = '2',
  None = 'N',
  NewTrue = 0x88,
  NewFalse = 0x89,
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  Long1 = 0x8a,
  Long4 = 0x8b,
  BinFloat = 'G',
  BinUnicode = 'X',
  ShortBinUnicode = 0x8c,
  BinString = 'T',
  ShortBinString = 'U',
  BinBytes = 'B',
  ShortBinBytes = 'C',
  EmptyTuple = ')',
  Tuple = 't',
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  EmptyList = ']',
  Append = 'a',
  Appends = 'e',
  EmptyDict = '}',
  SetItem = 's',
  SetItems = 'u',
  EmptySet = 0x8f,
  AddItems = 0x90,
  Global = 'c',
  StackGlobal = 0x93,
  Reduce = 'R',
  NewObj = 0x81,
  Build = 'b',
  BinPersId = 'Q',
  BinPut = 'q',
  LongBinPut = 'r',
  BinGet = 'h',
  LongBinGet = 'j',
  Memoize = 0x94,
  Frame = 0x95,
};

/// "torch FloatStorage" holds float32; nothing for a type that has no storage class in Python.
const char* storage_name(c10::ScalarType type);
std::optional<c10::ScalarType> type_of_storage(std::string_view name);

}  // namespace det::pytorch::pickle
