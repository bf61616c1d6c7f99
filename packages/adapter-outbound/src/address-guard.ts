import { failure, success, type PortResult } from '@org/agent-messaging-core/runtime'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Addresses and schemes that requests can use besides `https:` to public addresses. */
export type AddressPolicy = {
  /** Allows 127.0.0.0/8 and ::1, for development. */
  readonly allowLoopback?: boolean
  /**
   * Allows `http:` for every host. Otherwise `http:` works only for IP literals that `allowedCidrs`
   * or `allowLoopback` lists, and for `localhost` with `allowLoopback`.
   */
  readonly allowHttp?: boolean
  /** Networks such as `10.1.0.0/16` or `fd00::/8`. IPv4 includes IPv4-mapped IPv6. */
  readonly allowedCidrs?: readonly string[]
}

/**
 * Decides which addresses requests can reach. The dialer resolves names and asks the guard about
 * each address before it connects.
 */
export type AddressGuard = {
  /**
   * Checks the text of a URL. Returns the parsed URL, which callers share and must not change.
   * The error continues a sentence that starts with the field's name.
   */
  checkUrl(url: string): PortResult<URL, string>
  /** Returns true if requests can connect to this IP address. */
  isAllowed(address: string): boolean
}

const MAX_URL_LENGTH = 2_048
const MAX_CHECKED_URLS = 1_000
/**
 * Characters that the WHATWG URL parser silently drops or repairs. Other parsers treat them
 * differently.
 */
const REPAIRED = /[\0-\x20\x7f\\]|\p{Surrogate}/u
const AUTHORITY = /^https?:\/\/([^/?#]+)/i

const FIELDS: Readonly<Record<keyof AddressPolicy, string>> = {
  allowLoopback: 'boolean',
  allowHttp: 'boolean',
  allowedCidrs: 'object',
}

/** Throws a `TypeError` that names the first wrong field or quotes the first malformed CIDR. */
export function addressGuard(policy: AddressPolicy): AddressGuard {
  requireFields(policy)
  const loopback = policy.allowLoopback ? ['127.0.0.0/8', '::1/128'] : []
  const allowed = [...loopback, ...(policy.allowedCidrs ?? [])].map(parseCidr)

  /** Treats IPv4-mapped IPv6 as IPv4, because the kernel connects to the IPv4 address. */
  function isListed(address: Address) {
    const target = isMapped(address) ? address.toIPv4Address() : address
    return allowed.some(
      ([network, bits]) => target.kind() === network.kind() && target.match(network, bits),
    )
  }

  function isAllowed(text: string): boolean {
    const address = parseAddress(text)
    return address !== undefined && (isListed(address) || isPublic(address))
  }

  function allowsHttp(host: string) {
    if (policy.allowHttp) return true
    const address = parseAddress(host)
    return address ? isListed(address) : policy.allowLoopback === true && isLocalhost(host)
  }

  function check(text: string): PortResult<URL, string> {
    if (REPAIRED.test(text))
      return failure('must not contain spaces, backslashes or control characters')
    const authority = AUTHORITY.exec(text)?.[1]
    if (authority === undefined || !URL.canParse(text))
      return failure('must be a full URL that begins with https://')
    if (authority.includes('@')) return failure('must not contain a user name or password')
    if (text.includes('#')) return failure('must not contain a fragment')
    const url = new URL(text)
    if (url.port === '0') return failure('must not use port 0')
    const host = hostOf(url)
    if (url.protocol === 'http:' && !allowsHttp(host)) return failure('must use https')
    if (isIP(host) !== 0 && !isAllowed(host))
      return failure(
        'must not point to a private or reserved address that this service does not allow',
      )
    return success(url)
  }

  /** Results by URL. Most sends repeat a few URLs, and a check costs a tenth of a send. */
  const checked = new Map<string, PortResult<URL, string>>()

  function checkUrl(text: string) {
    if (text.length > MAX_URL_LENGTH)
      return failure(`must have at most ${MAX_URL_LENGTH} characters`)
    const known = checked.get(text)
    if (known) return known
    const result = check(text)
    if (checked.size >= MAX_CHECKED_URLS) checked.clear()
    checked.set(text, result)
    return result
  }

  return { checkUrl, isAllowed }
}

/** For callers without types, such as one that passes the CIDRs alone. */
function requireFields(policy: AddressPolicy) {
  for (const [name, value] of Object.entries(policy)) {
    const type = FIELDS[name as keyof AddressPolicy] as string | undefined
    if (type === undefined)
      throw new TypeError(
        `addresses has no field "${name}"; the fields are ${Object.keys(FIELDS).join(', ')}`,
      )
    if (
      value !== undefined &&
      (typeof value !== type || (type === 'object' && !Array.isArray(value)))
    )
      throw new TypeError(`addresses.${name} must be ${type === 'object' ? 'a list' : 'a boolean'}`)
  }
}

/** Returns the host of a URL, without the brackets around an IPv6 address. */
export const hostOf = ({ hostname }: URL): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname

/** Matches `localhost` and its subdomains. RFC 6761 reserves these names for loopback. */
export const isLocalhost = (host: string): boolean => /^(?:.+\.)?localhost\.?$/i.test(host)

type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * Never allowed: addresses with a zone, and IPv4-compatible ones (`::127.0.0.1`), which ipaddr.js
 * confuses with IPv4-mapped ones.
 */
const UNREADABLE = /%|^::\d+\./

const parseAddress = (text: string): Address | undefined =>
  isIP(text) === 0 || UNREADABLE.test(text) ? undefined : ipaddr.parse(text)

const isMapped = (address: Address): address is ipaddr.IPv6 =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()

/** The address of Azure's host agent lies in public space. */
const METADATA_IN_PUBLIC_SPACE = new Set(['168.63.129.16'])
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/** Public IPv6 lies in 2000::/3. The special ranges of ipaddr.js do not cover everything else. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv4) return !METADATA_IN_PUBLIC_SPACE.has(address.toString())
  const tunnelled = isatapTarget(address)
  return address.match(GLOBAL_UNICAST) && (tunnelled === undefined || isPublic(tunnelled))
}

/**
 * Returns the IPv4 address in an ISATAP address (RFC 5214), to which a router of the site sends the
 * packets. Its second half is `::5efe:a.b.c.d` under any prefix, with any universal and group bit.
 */
function isatapTarget({ parts }: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const [flags = 0, marker, high = 0, low = 0] = parts.slice(4)
  if ((flags & ~0x0300) !== 0 || marker !== 0x5efe) return undefined
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
}

/**
 * Stricter than ipaddr.js, which reads `10/8` as 0.0.0.10/8. Rejects host bits, because
 * `10.1.2.3/8` is more likely a typing error than 10.0.0.0/8.
 */
function parseCidr(text: string): [Address, number] {
  const [, base = '', digits = ''] = /^([^/%]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(base)
  const bits = Number(digits)
  if (version === 0 || bits > (version === 4 ? 32 : 128))
    throw new TypeError(`"${text}" is not a CIDR such as 10.1.0.0/16 or fd00::/8`)
  const [address, network] =
    version === 4
      ? [ipaddr.IPv4.parse(base), ipaddr.IPv4.networkAddressFromCIDR(text)]
      : [ipaddr.IPv6.parse(base), ipaddr.IPv6.networkAddressFromCIDR(text)]
  if (address.toString() !== network.toString())
    throw new TypeError(
      `"${text}" has bits set after its prefix. Its network is ${network.toString()}/${bits}`,
    )
  return isMapped(address) ? [address.toIPv4Address(), bits - 96] : [address, bits]
}
