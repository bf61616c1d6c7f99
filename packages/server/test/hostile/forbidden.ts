const words = (text: string): readonly string[] => text.trim().split(/\s+/)

const IPV4_IN_IPV6 = words(`
  ::ffff:7f00:1 ::ffff:a00:1 ::7f00:1 ::a00:1 ::ffff:0:7f00:1
  64:ff9b::7f00:1 64:ff9b:1::a00:1 2002:7f00:1:: 2001:0:7f00:1::
`)

/** Addresses from each range that requests must never reach. */
export const FORBIDDEN = [
  ...words(`
    127.0.0.1 127.8.8.8 0.0.0.0 0.1.2.3 ::1 ::
    10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fd12::1
    169.254.169.254 fe80::1 fec0::1 100.64.0.1 100.127.255.255 168.63.129.16
    224.0.0.1 239.255.255.255 ff02::1 240.0.0.1 255.255.255.255 192.0.0.192 192.88.99.1
    192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 2001:db8::1 3fff::1
    100::1 4000::1 8000::1
  `),
  ...IPV4_IN_IPV6,
]

/** The kernel refuses TCP connections to these addresses. */
export const UNDIALLABLE = ['fe80::1', '224.0.0.1', '239.255.255.255', 'ff02::1', '255.255.255.255']

/** Other spellings of hosts with forbidden addresses. */
const HOSTS = words(`
  127.1 127.0.1 2130706433 0x7f000001 0x7F.1 0177.0.0.1 017700000001 127.0.0.1. 0 0x0 00
  0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 10.1 0xA.0.0.1 012.0.0.1 192.168.257
  %31%32%37.0.0.1 ①②⑦.0.0.1 １２７.０.０.１ 127。0。0。1
  [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::127.0.0.1] [64:ff9b::10.0.0.1]
  localhost LOCALHOST localhost. app.localhost loc%61lhost ｌocalhost
`)

const literal = (address: string): string => (address.includes(':') ? `[${address}]` : address)

/** URLs that the server must not register. `port` is open on all addresses. */
export const forbiddenUrls = (port: number): readonly string[] => [
  ...[...FORBIDDEN.map(literal), ...HOSTS].map((host) => `https://${host}:${port}/hook`),
  ...['http', 'ftp', 'ws', 'gopher', 'file', 'unix', 'javascript', 'data'].map(
    (scheme) => `${scheme}://receiver.test:${port}/hook`,
  ),
  ...['user@', 'user:secret@', '@', '127.0.0.1@', 'receiver.test%40'].map(
    (user) => `https://${user}receiver.test:${port}/hook`,
  ),
  `https://receiver.test\t:${port}/`,
  `https://receiver\n.test:${port}/`,
  ` https://receiver.test:${port}/`,
  `https://receiver.test:${port}\\@127.0.0.1/`,
  `https://receiver.test:0/`,
  `https://receiver.test:65536/`,
  `https://receiver.test:-1/`,
  `https://receiver.test:${port}/#part`,
  `//receiver.test:${port}/`,
  `https:receiver.test:${port}`,
  `https:///receiver.test:${port}/`,
  `https://`,
  'receiver.test',
  '',
  `https://[fe80::1%25lo]:${port}/`,
]
