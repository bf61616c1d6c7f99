import { expect, it } from 'vitest'
import { formatCheck } from './schema-value-checks.js'

const UUID = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'

it.each([
  ['date', ['2024-02-29', '2000-02-29', '2023-12-31']],
  ['time', ['00:00:00Z', '23:59:60z', '08:59:60.5+09:00', '18:59:60-05:00']],
  ['date-time', ['2024-02-29T23:59:59.123+01:00', '2024-01-01 00:00:00Z']],
  ['duration', ['P1Y2M3DT4H5M6S', 'PT1S', 'P2W', 'P3D']],
  ['email', ['a.b+c@example.com', '"a \\" b"@c', 'a@[192.168.1.1]', 'a@[IPv6:::1]']],
  ['hostname', ['a', 'xn--a.b-c.de', `${'a'.repeat(63)}.b`]],
  ['ipv4', ['0.0.0.0', '255.249.199.9']],
  [
    'ipv6',
    ['::', '::1', '1::', '1:2:3:4:5:6:7:8', '1::8', '::ffff:1.2.3.4', '1:2:3:4:5:6:1.2.3.4'],
  ],
  ['uri', ['urn:a:b', 'mailto:a@b.c', 'https://user:pw@bücher.example:8080/a?b#c']],
  ['url', ['http://a', 'file:///etc/hosts', `data:,${'x'.repeat(16_000)}`]],
  ['uuid', [UUID, UUID.toUpperCase()]],
])('takes a text of the format %s', (format, texts) => {
  const check = formatCheck(format)
  expect(texts.filter((text) => check?.(text) !== true)).toEqual([])
})

it.each([
  ['date', ['2023-02-29', '1900-02-29', '2023-00-01', '2023-13-01', '2023-04-31', '23-01-01', '']],
  ['time', ['24:00:00Z', '23:60:00Z', '23:59:61Z', '12:00:60Z', '00:00:00', '00:00:00.Z']],
  ['date-time', ['2024-02-30T00:00:00Z', '2024-02-01', '2024-02-01x00:00:00Z']],
  ['duration', ['P', 'PT', 'P1', '1D', 'P1S', 'P1DT', 'P1W2D', 'P1D2Y']],
  ['email', ['a', '@b', 'a@', 'a..b@c', '.a@c', '"a@c', `${'a'.repeat(65)}@b`, 'a@[1.2.3]']],
  ['hostname', ['', '.', 'a.', '-a', 'a-', 'a_b', 'a'.repeat(64), 'a.'.repeat(127) + 'a']],
  ['ipv4', ['1.2.3', '256.1.1.1', '01.1.1.1', '1.2.3.4.5', '1.2.3.4 ']],
  [
    'ipv6',
    ['', ':', ':::', '1:2', '1::2::3', '12345::', '1:2:3:4:5:6:7:8:9', '::1.2.3', '1.2.3.4'],
  ],
  ['uri', ['', 'a/b', 'http://', 'http://a b']],
  ['url', ['http://a:70000', 'http://[::1', `http://${'ü'.repeat(254)}.de`]],
  ['uuid', ['', UUID.slice(1), UUID.replaceAll('-', '')]],
])('refuses a text without the format %s', (format, texts) => {
  const check = formatCheck(format)
  expect(texts.filter((text) => check?.(text) !== false)).toEqual([])
})

it.each(['regex', 'uri-template', 'constructor', ''])(
  'treats the format %j as an annotation',
  (format) => expect(formatCheck(format)).toBeUndefined(),
)

it('refuses texts that an expression with backtracking does not finish', () => {
  const parts = ['a', '1', '.', '-', ':', '@', '"', '\\', '0:', 'a.', '%61', 'ü', 'PT1']
  const beginnings = ['', 'http://', 'P', '00:00:00.', '"', 'x@', `http://${'a'.repeat(31)}.`]
  const formats = 'date time date-time duration email hostname ipv4 ipv6 uri url uuid'.split(' ')
  for (const beginning of beginnings)
    for (const part of parts) {
      const text = `${beginning}${part.repeat(16_384 / part.length)}!`
      for (const format of formats) expect(typeof formatCheck(format)?.(text)).toBe('boolean')
    }
})
