import { describe, expect, it } from 'vitest'
import { addressGuard } from './address-guard.js'

const strict = addressGuard({})
const problemOf = (url: string, guard = strict) => {
  const checked = guard.checkUrl(url)
  return checked.ok ? undefined : checked.error
}

describe('the address guard (row S)', () => {
  const forbidden = {
    loopback: ['127.0.0.1', '127.255.255.254', '::1'],
    private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1'],
    'link-local': ['169.254.169.254', 'fe80::1', 'febf::1', 'fec0::1'],
    unspecified: ['0.0.0.0', '0.1.2.3', '::'],
    'carrier-grade NAT': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
    multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
    'reserved and broadcast': ['240.0.0.1', '255.255.255.255', '192.0.0.192', '192.88.99.1'],
    'documentation and benchmarking': [
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.1',
      '198.18.0.1',
      '2001:db8::1',
      '3fff::1',
      '2001:2::1',
    ],
    'cloud metadata in public space': ['168.63.129.16'],
    'IPv4-mapped IPv6, including public addresses': [
      '::ffff:127.0.0.1',
      '::ffff:10.0.0.1',
      '::ffff:a9fe:a9fe',
      '::ffff:8.8.8.8',
    ],
    'IPv4-compatible IPv6': ['::127.0.0.1', '::10.0.0.1', '::7f00:1'],
    'IPv4-translated IPv6': ['::ffff:0:127.0.0.1'],
    NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::1'],
    '6to4': ['2002:7f00:1::', '2002:a00:1::1'],
    'ISATAP of non-public addresses, under any prefix': [
      '2606:4700::5efe:127.0.0.1',
      '2606:4700::5efe:a00:1',
      '2606:4700::200:5efe:10.0.0.1',
      '2606:4700:1:2:0:5efe:169.254.169.254',
      '2606:4700:1:2:200:5efe:192.168.1.1',
      '2606:4700:1:2:300:5efe:168.63.129.16',
      '2a00:1450::5efe:100.64.0.1',
      '::5efe:127.0.0.1',
      'fe80::5efe:8.8.8.8',
    ],
    'Teredo and ORCHID': ['2001::1', '2001:0:7f00:1::', '2001:10::1', '2001:20::1'],
    'unassigned IPv6': ['100::1', '200::1', '1000::1', '4000::1', '5f00::1', '8000::1', 'e000::1'],
    'zones and text that is not an address': [
      'fe80::1%eth0',
      '2606:4700::1%1',
      '',
      'localhost',
      '1.2.3',
      '0x7f.1',
      '127.0.0.01',
      ' 8.8.8.8',
    ],
  }
  it.each(Object.entries(forbidden))('forbids %s', (_range, addresses) => {
    expect(addresses.filter((address) => strict.isAllowed(address))).toEqual([])
  })

  it('allows public addresses next to forbidden ranges', () => {
    const allowed = [
      '1.1.1.1',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
      '172.15.255.255',
    ]
    const more = [
      '172.32.0.0',
      '192.167.255.255',
      '192.169.0.0',
      '169.253.255.255',
      '169.255.0.0',
      '223.255.255.255',
      '168.63.129.15',
    ]
    const ipv6 = [
      '2001:200::1',
      '2001:4860:4860::8888',
      '2001:db7::1',
      '2001:db9::1',
      '2003::1',
      '2606:4700::1111',
      '3fff:1000::1',
      '3ffe::1',
      '2606:4700::5efe:8.8.8.8',
      '2606:4700::200:5efe:8.8.8.8',
      '2606:4700::1:5efe:7f00:1',
      '2606:4700::5eff:7f00:1',
    ]
    expect([...allowed, ...more, ...ipv6].filter((address) => !strict.isAllowed(address))).toEqual(
      [],
    )
  })

  it('allows only loopback with allowLoopback', () => {
    const guard = addressGuard({ allowLoopback: true })
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(guard.isAllowed)).toBe(true)
    expect(
      [
        '::',
        '::2',
        '0.0.0.0',
        '10.0.0.1',
        '169.254.169.254',
        'fe80::1',
        '::ffff:10.0.0.1',
        '::127.0.0.1',
      ].some(guard.isAllowed),
    ).toBe(false)
  })

  it('reads the IPv4-mapped IPv6 network as all of IPv4', () => {
    const { isAllowed } = addressGuard({ allowedCidrs: ['::ffff:0:0/96'] })
    expect(['10.0.0.1', '::ffff:10.0.0.1', 'fd00::1'].map(isAllowed)).toEqual([true, true, false])
  })

  it('allows listed networks, also as IPv4-mapped IPv6', () => {
    const guard = addressGuard({
      allowedCidrs: ['10.1.0.0/16', 'fd00:1::/32', '::ffff:192.168.7.0/120', '169.254.7.7/32'],
    })
    const listed = [
      '10.1.0.1',
      '10.1.255.255',
      '::ffff:10.1.2.3',
      '::ffff:a01:203',
      'fd00:1::9',
      '192.168.7.9',
      '169.254.7.7',
      '1.1.1.1',
    ]
    expect(listed.filter((address) => !guard.isAllowed(address))).toEqual([])
    expect(
      [
        '10.0.255.255',
        '10.2.0.0',
        '::ffff:10.2.0.0',
        'fd00:2::1',
        '192.168.8.1',
        '169.254.7.8',
        '127.0.0.1',
      ].some(guard.isAllowed),
    ).toBe(false)
  })

  it.each([
    '10/8',
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '0x0a.0.0.0/8',
    '010.0.0.0/8',
    'fd00::/129',
    'fe80::%1/10',
    'example.com/8',
    '',
    ' 10.0.0.0/8',
  ])('quotes the malformed CIDR %j', (cidr) =>
    expect(() => addressGuard({ allowedCidrs: ['10.0.0.0/8', cidr] })).toThrow(
      `"${cidr}" is not a CIDR such as 10.1.0.0/16 or fd00::/8`,
    ),
  )

  it('names the network of a CIDR with bits set after its prefix', () => {
    expect(() => addressGuard({ allowedCidrs: ['10.1.2.3/8'] })).toThrow(
      '"10.1.2.3/8" has bits set after its prefix. Its network is 10.0.0.0/8',
    )
    expect(() => addressGuard({ allowedCidrs: ['fd00::1/8'] })).toThrow('Its network is fd00::/8')
  })
})

describe('the URL check (row S)', () => {
  const loopbackForms = [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7F.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
  ]
  const encoded = [
    '%31%32%37.0.0.1',
    '①②⑦.0.0.1',
    '１２７.０.０.１',
    '127。0。0。1',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
  ]
  const others = [
    '0',
    '0.0.0.0',
    '[::]',
    '0xa9fea9fe',
    '2852039166',
    '10.0.0.1',
    '[fd00::1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[2606:4700::5efe:127.0.0.1]',
    '[2606:4700::200:5efe:a00:1]',
  ]
  it.each([...loopbackForms, ...encoded, ...others])('checks the IP literal %s', (host) => {
    expect(problemOf(`https://${host}/hook`)).toBe(
      'must not point to a private or reserved address that this service does not allow',
    )
    expect(problemOf(`https://${host}:8443/hook`)).toBe(
      'must not point to a private or reserved address that this service does not allow',
    )
  })

  it.each([
    ['https://user@example.com/', 'must not contain a user name or password'],
    ['https://user:secret@example.com/', 'must not contain a user name or password'],
    ['https://@example.com/', 'must not contain a user name or password'],
    ['https://example.com/#part', 'must not contain a fragment'],
    ['https://example.com/#', 'must not contain a fragment'],
    ['https://example.com:0/', 'must not use port 0'],
    ['https://example.com:65536/', 'must be a full URL that begins with https://'],
    ['https://exa\tmple.com/', 'must not contain spaces, backslashes or control characters'],
    ['https://exam\nple.com/', 'must not contain spaces, backslashes or control characters'],
    [
      'https://example.com/a\r\nhost: b',
      'must not contain spaces, backslashes or control characters',
    ],
    [' https://example.com/', 'must not contain spaces, backslashes or control characters'],
    ['https://example.com/\0', 'must not contain spaces, backslashes or control characters'],
    [
      'https://example.com\\@127.0.0.1/',
      'must not contain spaces, backslashes or control characters',
    ],
    ['https://example.com/\ud800', 'must not contain spaces, backslashes or control characters'],
    ['http://example.com/', 'must use https'],
    ['http://localhost/', 'must use https'],
    ['ftp://example.com/', 'must be a full URL that begins with https://'],
    ['file:///etc/passwd', 'must be a full URL that begins with https://'],
    ['javascript:alert(1)', 'must be a full URL that begins with https://'],
    ['https:example.com', 'must be a full URL that begins with https://'],
    ['https:///example.com', 'must be a full URL that begins with https://'],
    ['https://', 'must be a full URL that begins with https://'],
    ['https://?x', 'must be a full URL that begins with https://'],
    ['//example.com/', 'must be a full URL that begins with https://'],
    ['example.com', 'must be a full URL that begins with https://'],
    ['', 'must be a full URL that begins with https://'],
    ['https://[::1', 'must be a full URL that begins with https://'],
    ['https://1.2.3.4.5/', 'must be a full URL that begins with https://'],
  ])('rejects %j, which %s', (url, problem) => expect(problemOf(url)).toBe(problem))

  it('remembers a limited number of URLs', () => {
    const { checkUrl } = addressGuard({})
    const first = checkUrl('https://example.com/first')
    expect(checkUrl('https://example.com/first')).toBe(first)
    for (let n = 0; n < 1_000; n++) checkUrl(`https://example.com/${n}`)
    expect(checkUrl('https://example.com/first')).not.toBe(first)
  })
  it('accepts 2048 characters and rejects more', () => {
    const url = 'https://example.com/'.padEnd(2_048, 'a')
    expect(problemOf(url)).toBeUndefined()
    expect(problemOf(`${url}a`)).toBe('must have at most 2048 characters')
  })

  it.each([
    'https://example.com',
    'HTTPS://Example.com:8443/a/b?c=d%20e',
    'https://bücher.example/ä',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]/',
    'https://example.com./',
  ])('accepts %s', (url) => expect(problemOf(url)).toBeUndefined())

  it('accepts http: with allowHttp, and for listed IP literals', () => {
    expect(problemOf('http://example.com/', addressGuard({ allowHttp: true }))).toBeUndefined()
    expect(problemOf('http://127.0.0.1/', addressGuard({ allowHttp: true }))).toBe(
      'must not point to a private or reserved address that this service does not allow',
    )
    const listed = addressGuard({ allowedCidrs: ['10.1.0.0/16'] })
    expect(problemOf('http://10.1.2.3:8080/', listed)).toBeUndefined()
    expect(problemOf('http://10.2.0.1:8080/', listed)).toBe('must use https')
    expect(problemOf('http://1.1.1.1/', listed)).toBe('must use https')
    expect(problemOf('http://agent.internal/', listed)).toBe('must use https')
  })

  it('accepts http: to loopback and localhost with allowLoopback', () => {
    const guard = addressGuard({ allowLoopback: true })
    const good = [
      'http://127.0.0.1:3000/',
      'http://[::1]:3000/',
      'http://localhost:3000/',
      'http://LOCALHOST./',
      'http://app.localhost/',
      'https://127.1/',
    ]
    expect(
      good.map((url) => problemOf(url, guard)).filter((problem) => problem !== undefined),
    ).toEqual([])
    expect(problemOf('http://localhost.example/', guard)).toBe('must use https')
    expect(problemOf('http://notlocalhost/', guard)).toBe('must use https')
    expect(problemOf('https://10.0.0.1/', guard)).toBe(
      'must not point to a private or reserved address that this service does not allow',
    )
  })
})
