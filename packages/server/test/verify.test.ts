import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandLine, SLOWLY } from './command-line.js'
import { workshop, type Workshop } from './workshop.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const event = { event: 'webhook.test', id: 'e-1', createdAt: '2030-01-01T00:00:00.000Z', data: { webhookId: 'w-1' } } as const

let shop: Workshop
beforeEach(() => {
  shop = workshop()
})
afterEach(() => shop.dispose())
const { cli } = commandLine(() => shop)

describe('verify', SLOWLY, () => {
  it('says that a request is genuine, whichever way its headers are given', async () => {
    const { body, headers } = await signTestEvent(event, secret, { deliveryId: 'd-1' })
    shop.write('body.json', body)
    shop.write('headers.json', JSON.stringify(headers))
    shop.write(
      'headers.txt',
      `POST / HTTP/1.1\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\r\n')}\r\n`,
    )
    for (const file of ['headers.json', 'headers.txt']) {
      const { code, stdout } = await cli(`verify body.json --headers ${file} --secret ${secret}`, {})
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ genuine: webhook\.test, delivery d-1, signed at .*Z\n$/)])
    }
    const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const program = shop.cli(['verify', 'body.json', '--secret', secret, '--json', ...given], {})
    expect([await program.ended, JSON.parse(program.stdout())]).toEqual([0, expect.objectContaining({ verified: true, deliveryId: 'd-1' })])
  })

  it('says what is wrong, and ends with 1', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    shop.write('body.json', `${body}\n`)
    shop.write('headers.json', JSON.stringify(headers))
    const { code, stdout, stderr } = await cli(`verify body.json --headers headers.json --secret ${secret} --json`, {})
    expect([code, JSON.parse(stdout)]).toEqual([1, { verified: false, code: 'SIGNATURE_MISMATCH', reason: expect.any(String) }])
    expect(stderr).toMatch(/^✗ not to be believed: .*it ends in a line break that was not sent\n$/)
  })

  it('ends with 2 when it is not given what it needs', async () => {
    shop.write('body.json', '{}')
    for (const line of [
      'verify body.json',
      `verify body.json --secret ${secret} -H nonsense`,
      `verify body.json --secret ${secret} --headers none.txt`,
      `verify none.json --secret ${secret}`,
    ]) {
      const { code, stderr } = await cli(line, {})
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: /)])
    }
  })
})
