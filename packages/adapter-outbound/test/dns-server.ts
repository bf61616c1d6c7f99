import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import {
  createServer as createTcpServer,
  isIPv4,
  type Server,
  type Socket as TcpSocket,
} from 'node:net'

/**
 * `silent`: no answer. `nxdomain`: no such name. `servfail`: the server cannot answer. An empty
 * list: a name without addresses. `via`: aliases between the name and its addresses. `overTcp`: UDP
 * answers are truncated to nothing. `afterMs`: a delay.
 */
export type DnsAnswer = readonly string[] | 'silent' | 'nxdomain' | 'servfail' | LongAnswer
type LongAnswer = {
  readonly addresses: readonly string[]
  readonly via?: readonly string[]
  readonly overTcp?: boolean
  readonly afterMs?: number
}

type At = { readonly host?: string; readonly port?: number }

/** A name server, by default on 127.0.0.1. A test can change `answers` at any time. */
export async function dnsServer(
  answers: Record<string, DnsAnswer>,
  { host = '127.0.0.1', port = 0 }: At = {},
) {
  const questions: string[] = []

  function answerTo(query: Buffer, transport: 'udp' | 'tcp') {
    const { name, type, end } = readQuestion(query)
    questions.push(`${name} ${type === 28 ? 'AAAA' : 'A'}`)
    const answer = answers[name] ?? 'nxdomain'
    if (answer === 'silent') return undefined
    const long: LongAnswer =
      typeof answer === 'object' && 'addresses' in answer
        ? answer
        : { addresses: typeof answer === 'string' ? [] : answer }
    const bytes = encode(
      { question: query.subarray(0, end), name, type, code: codeOf(answer) },
      long,
      transport,
    )
    return { bytes, afterMs: long.afterMs ?? 0 }
  }

  const { udp, tcp } = await bothAt(host, port)
  const late = new Set<NodeJS.Timeout>()
  udp.on('message', (query, from) => {
    const answer = answerTo(query, 'udp')
    if (!answer) return
    const timer = setTimeout(() => {
      late.delete(timer)
      udp.send(answer.bytes, from.port, from.address)
    }, answer.afterMs)
    late.add(timer)
  })
  // A resolver sends one whole question per TCP connection.
  tcp.on('connection', (socket: TcpSocket) =>
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        const answer = answerTo(data.subarray(2), 'tcp')
        if (answer) socket.end(Buffer.concat([uint16(answer.bytes.length), answer.bytes]))
      }),
  )

  return {
    address: isIPv4(host) ? `${host}:${udp.address().port}` : `[${host}]:${udp.address().port}`,
    questions,
    close: async () => {
      for (const timer of late) clearTimeout(timer)
      await Promise.all([closed(udp), closed(tcp)])
    },
  }
}

/** Binds one port for UDP and TCP. Tries another port if TCP cannot have the same one. */
async function bothAt(host: string, port: number): Promise<{ udp: Socket; tcp: Server }> {
  const udp = createSocket(isIPv4(host) ? 'udp4' : 'udp6').bind(port, host)
  await once(udp, 'listening')
  const tcp = createTcpServer().listen(udp.address().port, host)
  try {
    await once(tcp, 'listening')
    return { udp, tcp }
  } catch (error) {
    await closed(udp)
    if (port !== 0) throw error
    return bothAt(host, port)
  }
}

const closed = (server: Socket | Server): Promise<void> =>
  new Promise((resolve) => void server.close(() => resolve()))

type Question = {
  readonly question: Buffer
  readonly name: string
  readonly type: number
  readonly code: number
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** RFC 1035 §4.1.1: no error, server failure, name error. */
const codeOf = (answer: DnsAnswer): number =>
  answer === 'servfail' ? 2 : answer === 'nxdomain' ? 3 : 0

const TRUNCATED = 0x0200
const CNAME = 5

/** Encodes RFC 1035 §4: the question, the aliases, and a record for each address of the type. */
function encode(
  { question, name, type, code }: Question,
  { addresses, via = [], overTcp }: LongAnswer,
  transport: 'udp' | 'tcp',
): Buffer {
  const isCut = overTcp === true && transport === 'udp'
  const names = [name, ...via]
  const aliases = via.map((target, n) => record(names[n] ?? '', CNAME, encodedName(target)))
  const found = addresses
    .filter((address) => isIPv4(address) === (type === 1))
    .map((address) => record(names.at(-1) ?? '', type, bytesOf(address)))
  const records = isCut ? [] : [...aliases, ...found]
  const head = Buffer.from(question)
  head.writeUInt16BE(0x8180 | code | (isCut ? TRUNCATED : 0), 2)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, ...records])
}

const record = (name: string, type: number, data: Buffer): Buffer =>
  Buffer.concat([
    encodedName(name),
    Buffer.from([0, type, 0, 1, 0, 0, 0, 0]),
    uint16(data.length),
    data,
  ])

const encodedName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

const bytesOf = (address: string): Buffer =>
  isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)

/** Expands `::`. Does not support dotted tails. */
function ipv6Bytes(address: string): Buffer {
  const [left = '', right] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const tail = groups(right ?? '')
  const zeros = Array<string>(right === undefined ? 0 : 8 - groups(left).length - tail.length).fill(
    '0',
  )
  return Buffer.from(
    [...groups(left), ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''),
    'hex',
  )
}
