import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { err, ok, type Result } from 'neverthrow'

/** What may be connected to, beside public addresses over `https:`. */
export type AddressPolicy = {
  /** 127.0.0.0/8 and ::1, for development. */
  readonly allowLoopback?: boolean
  /**
   * `http:` URLs for every address; without it only for IP literals that `allowedCidrs` or `allowLoopback` allow, and for `localhost` with
   * the latter.
   */
  readonly allowHttp?: boolean
  /** `10.1.0.0/16`, `fd00::/8`. One for IPv4 also holds for the same addresses written as IPv4-mapped IPv6. */
  readonly allowedCidrs?: readonly string[]
}

/**
 * Decides where requests may go. It knows addresses; names are resolved by the dialler, which asks for every address it is about to dial.
 */
export type AddressGuard = {
  /**
   * The URL (shared: not to be changed), if a request may be sent to it as far as its text tells; else why not, as the rest of a sentence
   * that begins with the field's name.
   */
  checkUrl(url: string): Result<URL, string>
  /** Of an IP address in text. */
  isAllowed(address: string): boolean
}

const MAX_URL_LENGTH = 2_048
const MAX_VERDICTS = 1_000
/** WHATWG URL drops or repairs these without a word, and other parsers read them otherwise: no URL that needs repair is taken. */
const REPAIRED = /[\0-\x20\x7f\\]|\p{Surrogate}/u
const AUTHORITY = /^https?:\/\/([^/?#]+)/i

/** Throws a `TypeError` that quotes the CIDR when one of the policy is not well-formed. */
export function addressGuard(policy: AddressPolicy): AddressGuard {
  const loopback = policy.allowLoopback ? ['127.0.0.0/8', '::1/128'] : []
  const allowed = [...loopback, ...(policy.allowedCidrs ?? [])].map(parseCidr)

  /** IPv4-mapped IPv6 counts as IPv4 here: that is what the kernel dials. */
  function isListed(address: Address): boolean {
    const dialled = isMapped(address) ? address.toIPv4Address() : address
    return allowed.some(
      ([network, bits]) => dialled.kind() === network.kind() && dialled.match(network, bits),
    )
  }

  function isAllowed(text: string): boolean {
    const address = parseAddress(text)
    return address !== undefined && (isListed(address) || isPublic(address))
  }

  function mayBePlain(host: string): boolean {
    if (policy.allowHttp) return true
    const address = parseAddress(host)
    return address ? isListed(address) : policy.allowLoopback === true && isLocalhost(host)
  }

  function judge(text: string): Result<URL, string> {
    if (REPAIRED.test(text)) return err('must not hold spaces, backslashes or control characters')
    const authority = AUTHORITY.exec(text)?.[1]
    if (authority === undefined || !URL.canParse(text))
      return err('must be a full URL that begins with https://')
    if (authority.includes('@')) return err('must not hold a user name or password')
    if (text.includes('#')) return err('must not hold a fragment')
    const url = new URL(text)
    if (url.port === '0') return err('must not name port 0')
    const host = hostOf(url)
    if (url.protocol === 'http:' && !mayBePlain(host)) return err('must use https')
    if (isIP(host) !== 0 && !isAllowed(host))
      return err('must not point to a private or reserved address that this service does not allow')
    return ok(url)
  }

  /** A verdict rests on the text alone, and the same few URLs come with every send: judging them anew costs a tenth of it. */
  const verdicts = new Map<string, Result<URL, string>>()

  function checkUrl(text: string): Result<URL, string> {
    if (text.length > MAX_URL_LENGTH) return err(`must have at most ${MAX_URL_LENGTH} characters`)
    const known = verdicts.get(text)
    if (known) return known
    const verdict = judge(text)
    if (verdicts.size >= MAX_VERDICTS) verdicts.clear()
    verdicts.set(text, verdict)
    return verdict
  }

  return { checkUrl, isAllowed }
}

/** The host as an IP address or a name: without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname

/** `localhost` and names below it, which RFC 6761 keeps for the loopback addresses whatever a name server says. */
export const isLocalhost = (host: string): boolean => /^(?:.+\.)?localhost\.?$/i.test(host)

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** With a zone, or IPv4-compatible (`::127.0.0.1`), which ipaddr.js takes for IPv4-mapped: neither is ever allowed. */
const UNREADABLE = /%|^::\d+\./

const parseAddress = (text: string): Address | undefined =>
  isIP(text) === 0 || UNREADABLE.test(text) ? undefined : ipaddr.parse(text)

const isMapped = (address: Address): address is ipaddr.IPv6 =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()

/** Azure's host agent has an address in the middle of public space. */
const METADATA_IN_PUBLIC_SPACE = new Set(['168.63.129.16'])
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/** IPv6 beyond 2000::/3 was never given out for the internet; a list of special ranges alone has gaps there. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv6
    ? address.match(GLOBAL_UNICAST)
    : !METADATA_IN_PUBLIC_SPACE.has(address.toString())
}

/**
 * Stricter than ipaddr.js, for which `10/8` is 0.0.0.10/8. Host bits are refused: `10.1.2.3/8` is more likely a slip than a wish for
 * 10.0.0.0/8.
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
      `"${text}" has bits beyond its prefix: ${network.toString()}/${bits} would be the network`,
    )
  return isMapped(address) ? [address.toIPv4Address(), bits - 96] : [address, bits]
}
