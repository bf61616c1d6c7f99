import { describe, expect, it } from 'vitest'
import { csvRecord } from './csv.js'

describe('a record of a CSV file', () => {
  it('has commas between its cells, and CRLF at its end', () => {
    expect(csvRecord(['a', 12, '', -3])).toBe('a,12,,-3\r\n')
  })

  it.each([
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['two\r\nlines', '"two\r\nlines"'],
    [' padded ', '" padded "'],
    ['äö 日本 שלום 🎉', 'äö 日本 שלום 🎉'],
    ['a = b', 'a = b'],
    ['2030-01-01', '2030-01-01'],
    ['–', '–'],
  ])('writes %j as %s', (cell, written) => {
    expect(csvRecord([cell])).toBe(`${written}\r\n`)
  })

  it.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '  =1+1',
    '\u00a0=1+1',
    '\ufeff=1+1',
    '\u202e=1+1',
    '"=1+1"',
    "'=1+1",
    '" =1+1',
    '＝1+1',
    '\tx',
    '\rx',
    '\nx',
    '\u0000=1+1',
  ])('starts no formula with %j', (cell) => {
    expect(csvRecord([cell])).toMatch(/^"?'/)
    expect(
      csvRecord([cell])
        .replaceAll(/^"|"\r\n$|\r\n$/g, '')
        .replaceAll('""', '"'),
    ).toBe(`'${cell}`)
  })
})
