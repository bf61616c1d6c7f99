import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

/** `silent` leaves the question open, `nxdomain` says that there is no such name; an empty list, that it has no addresses. */
type DnsAnswer = readonly string[] | 'silent' | 'nxdomain'

/** A name server on 127.0.0.1. `answers` may be changed at any time; each question is answered by what it holds then. */
export async function dnsServer(answers: Record<string, DnsAnswer>) {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query)
    questions.push(`${name} ${type === 28 ? 'AAAA' : 'A'}`)
    const answer = answers[name] ?? 'nxdomain'
    if (answer !== 'silent') socket.send(encode(query.subarray(0, end), type, answer), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  return { address: `127.0.0.1:${port}`, questions, close: () => closed(socket) }
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.close(() => resolve()))

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** RFC 1035 §4: the question once more, then a record for each address of the type that was asked for. */
function encode(question: Buffer, type: number, answer: readonly string[] | 'nxdomain'): Buffer {
  const addresses = answer === 'nxdomain' ? [] : answer.filter((address) => isIPv4(address) === (type === 1))
  const head = Buffer.from(question)
  head.writeUInt16BE(answer === 'nxdomain' ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const records = addresses.map((address) => {
    const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length])
    return Buffer.concat([record, data])
  })
  return Buffer.concat([head, ...records])
}

/** `::` is filled up; dotted tails are not understood. */
function ipv6Bytes(address: string): Buffer {
  const [left = '', right] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const tail = groups(right ?? '')
  const zeros = Array<string>(right === undefined ? 0 : 8 - groups(left).length - tail.length).fill('0')
  return Buffer.from([...groups(left), ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex')
}
