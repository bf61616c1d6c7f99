import { describe, expect, it } from 'vitest'
import { acceptsText, inputPartOf, inputPartRules, MAX_INPUT_PARTS } from './input-part.js'

const file = (more: object = {}) => ({
  type: 'file',
  url: 'https://files.example/a.png',
  mediaType: 'image/png',
  ...more,
})
const dataPart = (data: unknown, more: object = {}) => ({ type: 'data', name: 'd', data, ...more })
const issues = (parts: unknown) =>
  Object.entries(inputPartRules(parts)).filter(([, rule]) => rule !== undefined)
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])

describe('the parts of a send', () => {
  it.each([
    ['absent', undefined],
    ['an empty list', []],
    ['a file with all fields', [file({ filename: 'a b.png', size: 0 })]],
    ['an http: URL in upper case', [file({ url: 'HTTP://127.0.0.1:8080/x?sig=%2F#a' })]],
    ['a media type with a parameter', [file({ mediaType: 'text/plain; charset="utf-8"' })]],
    ['null for optional fields', [file({ filename: null, size: null }), dataPart(1, { id: null })]],
    ['any JSON as data', [null, false, 0, '', [], {}, deep(16)].map((data) => dataPart(data))],
    ['keys of prototypes in data', [dataPart(JSON.parse('{"__proto__":{},"constructor":1}'))]],
    ['the most parts', Array.from({ length: MAX_INPUT_PARTS }, () => dataPart(1))],
  ])('can be %s', (_, parts) => {
    expect(issues(parts)).toEqual([])
  })

  const URL_RULE = 'must be an http: or https: URL of at most 8192 characters'
  const MEDIA_RULE = 'must be a media type, such as image/png'
  it.each<[string, unknown, unknown]>([
    ['parts', 'must be a list of at most 20 parts', {}],
    ['parts', 'must be a list of at most 20 parts', null],
    ['parts', 'must be a list of at most 20 parts', Array.from({ length: 21 }, () => file())],
    ['parts.0', 'must be an object', ['text']],
    ['parts.1', 'must be an object', [file(), null]],
    ['parts.0.type', 'must be one of: data, file', [{ type: 'text', text: 'a' }]],
    ['parts.0.type', 'must be one of: data, file', [{ type: 'toString' }]],
    ['parts.0.type', 'must be one of: data, file', [JSON.parse('{"__proto__":{"type":"file"}}')]],
    [
      'parts.0',
      'has unknown fields: contents. Known fields: type, url, mediaType, filename, size',
      [file({ contents: 'a' })],
    ],
    [
      'parts.0',
      'has unknown fields: __proto__. Known fields: type, name, id, data',
      [JSON.parse('{"type":"data","name":"a","data":1,"__proto__":{}}')],
    ],
    ['parts.0.url', 'is required', [{ type: 'file', mediaType: 'a/b' }]],
    ...[
      'data:image/png;base64,AAAA',
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'file:///etc/passwd',
      '//files.example/a',
      'https:files.example',
      'https://',
      'https://a b/',
      'https://a.example/\ud800',
      'https://a.example/\0',
      'https://a.example/\n',
      `https://${'ü'.repeat(300)}.example`,
      7,
    ].map((url): [string, string, unknown] => ['parts.0.url', URL_RULE, [file({ url })]]),
    ['parts.0.url', URL_RULE, [file({ url: `https://a.example/${'a'.repeat(8_192)}` })]],
    ['parts.0.mediaType', 'is required', [{ type: 'file', url: 'https://a.example' }]],
    ...['image', 'image/', '/png', 'image/p g', 'a/b;\n', 'a/b/c', 7].map(
      (mediaType): [string, string, unknown] => [
        'parts.0.mediaType',
        MEDIA_RULE,
        [file({ mediaType })],
      ],
    ),
    ['parts.0.filename', 'must be a non-empty string', [file({ filename: '' })]],
    [
      'parts.0.filename',
      'must not contain NUL or lone surrogates',
      [file({ filename: 'a\udfff' })],
    ],
    ['parts.0.size', expect.stringContaining('must be a whole number'), [file({ size: -1 })]],
    ['parts.0.size', expect.stringContaining('must be a whole number'), [file({ size: 0.5 })]],
    ['parts.0.name', 'is required', [{ type: 'data', data: 1 }]],
    ['parts.0.name', 'must have at most 100 characters', [dataPart(1, { name: 'a'.repeat(101) })]],
    ['parts.0.id', 'must be a non-empty string', [dataPart(1, { id: 7 })]],
    ['parts.0.data', 'is required', [{ type: 'data', name: 'a' }]],
    ['parts.0.data', 'is nested too deeply', [dataPart(deep(17))]],
    ['parts.0.data', 'is nested too deeply', [dataPart(deep(5_000))]],
    ['parts.0.data', 'holds NUL or a lone surrogate', [dataPart({ a: ['\ud800'] })]],
    ['parts.0.data', 'has a key with NUL or a lone surrogate', [dataPart({ 'a\0': 1 })]],
    ['parts.0.data', 'holds a number out of range', [dataPart(Infinity)]],
    ['parts.0.data', 'holds a bigint, which JSON has not', [dataPart([1n])]],
    ['parts', 'must have at most 65536 characters as JSON', [dataPart('a'.repeat(65_536))]],
    [
      'parts',
      'must have at most 65536 characters as JSON',
      Array.from({ length: 9 }, () => file({ url: `https://a.example/${'a'.repeat(8_000)}` })),
    ],
  ])('are refused: %s %s', (path, message, parts) => {
    expect(issues(parts)).toEqual([[path, message]])
  })

  it('name each wrong field', () => {
    expect(issues([file({ url: '', size: 'big' }), dataPart(undefined)])).toEqual([
      ['parts.0.url', URL_RULE],
      ['parts.0.size', expect.stringContaining('must be a whole number')],
      ['parts.1.data', 'is required'],
    ])
  })

  it('are stored without optional fields that are not given', () => {
    const given = { filename: null, size: undefined } as object
    expect(inputPartOf(file(given) as never)).toStrictEqual(file())
    expect(inputPartOf(dataPart(null, { id: null }) as never)).toStrictEqual(dataPart(null))
    expect(inputPartOf(dataPart(0, { id: 'a' }) as never)).toStrictEqual(dataPart(0, { id: 'a' }))
  })

  it('are all refused by a kind of agents that takes text only', () => {
    expect(acceptsText()).toBe('is not supported: the agent takes text only')
  })
})
