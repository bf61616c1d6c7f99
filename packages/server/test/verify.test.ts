import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { commandLine, SLOWLY } from './command-line.js'
import { workshop, type Workshop } from './workshop.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const event = {
  event: 'webhook.test',
  id: 'e-1',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { webhookId: 'w-1' },
} as const

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
      const { code, stdout } = await cli(
        `verify body.json --headers ${file} --secret ${secret}`,
        {},
      )
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/^✓ genuine: webhook\.test, delivery d-1, signed at .*Z\n$/),
      ])
    }
    const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const program = shop.cli(['verify', 'body.json', '--secret', secret, '--json', ...given], {})
    expect([await program.ended, JSON.parse(program.stdout())]).toEqual([
      0,
      expect.objectContaining({ verified: true, deliveryId: 'd-1' }),
    ])
  })

  it('shows no default in its help that is none', async () => {
    const { stdout } = await cli('verify --help', {})
    expect(stdout.match(/\(default: .*\)/g)).toEqual(['(default: 300)'])
  })

  it('takes the secret from a file or from WEBHOOK_SECRET, what is named before what is around', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    shop.write('body.json', body)
    shop.write('headers.json', JSON.stringify(headers))
    shop.write('secret.txt', `${secret}\n`)
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    for (const [given, env] of [
      ['--secret-file secret.txt', { WEBHOOK_SECRET: other }],
      ['', { WEBHOOK_SECRET: secret }],
      [`--secret ${secret}`, { WEBHOOK_SECRET: other }],
    ] as const) {
      expect(
        (await cli(`verify body.json --headers headers.json ${given}`.trim(), env)).code,
        given,
      ).toBe(0)
    }
    expect(
      (await cli('verify body.json --headers headers.json', { WEBHOOK_SECRET: other })).code,
    ).toBe(1)
  })

  it('says what is wrong, and ends with 1', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    shop.write('body.json', `${body}\n`)
    shop.write('headers.json', JSON.stringify(headers))
    const { code, stdout, stderr } = await cli(
      `verify body.json --headers headers.json --secret ${secret} --json`,
      {},
    )
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      { verified: false, code: 'SIGNATURE_MISMATCH', reason: expect.any(String) },
    ])
    expect(stderr).toMatch(/^✗ not to be believed: .*it ends in a line break that was not sent\n$/)
  })

  it('ends with 2 when it is not given what it needs', async () => {
    shop.write('body.json', '{}')
    shop.write('empty.txt', '\n')
    shop.write('secret.txt', secret)
    expect(await cli('verify body.json', {})).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^there is no secret/),
    })
    for (const line of [
      'verify body.json --secret-file none.txt',
      'verify body.json --secret-file empty.txt',
      'verify - --secret-file -',
      `verify body.json --secret ${secret} --secret-file secret.txt`,
      `verify body.json --secret ${secret} -H nonsense`,
      `verify body.json --secret ${secret} --headers none.txt`,
      `verify none.json --secret ${secret}`,
    ]) {
      const { code, stderr } = await cli(line, {})
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: /)])
    }
  })
})

describe('verify and listen', SLOWLY, () => {
  it.each(['verify body.json', 'listen --port 0'])(
    '%s refuses an empty or malformed secret',
    async (command) => {
      shop.write('body.json', '{}')
      shop.write('bare.txt', 'whsec_\n')
      expect(await cli(command, { WEBHOOK_SECRET: '' })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^the secret is empty/),
      })
      for (const given of ['--secret whsec_', '--secret hunter2', '--secret-file bare.txt']) {
        expect(await cli(`${command} ${given}`, {}), given).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(/^the secret is malformed/),
        })
      }
    },
  )
})

describe('listen', SLOWLY, () => {
  it.each([
    ['--secret-file secret.txt', {}],
    ['', { WEBHOOK_SECRET: secret }],
  ])('checks with a secret that is on no command line: %j', async (given, env) => {
    shop.write('secret.txt', secret)
    const port = await freePort()
    const program = shop.cli(`listen --port ${port} ${given}`.trim().split(' '), env)
    await program.find(/Listening/)
    const { body, headers } = await signTestEvent(event, secret)
    const send = (sent: string) =>
      fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: sent })
    expect([(await send(body)).status, (await send(`${body} `)).status]).toEqual([200, 401])
    await program.find(/signature valid[^]*SIGNATURE WRONG/)
  })
})
