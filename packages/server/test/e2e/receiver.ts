import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

type Received = {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly status: number
}

/** A webhook receiver that records all requests. `answer` chooses the status of each response. */
export async function receiver(
  answer: (n: number, headers: IncomingHttpHeaders) => number = () => 200,
) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const status = answer(received.length, request.headers)
      received.push({
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        status,
      })
      response.writeHead(status).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
