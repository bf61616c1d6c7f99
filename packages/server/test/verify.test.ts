import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { commandLine, SLOWLY } from './command-line.js'
import { createSandbox, type Sandbox } from './sandbox.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const event = {
  event: 'webhook.test',
  id: 'e-1',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { webhookId: 'w-1' },
} as const

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())
const { cli } = commandLine(() => sandbox)

describe('verify', SLOWLY, () => {
  it('accepts a valid request with headers from JSON, text or options', async () => {
    const { body, headers } = await signTestEvent(event, secret, { deliveryId: 'd-1' })
    sandbox.write('body.json', body)
    sandbox.write('headers.json', JSON.stringify(headers))
    sandbox.write(
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
        expect.stringMatching(/^✓ valid: webhook\.test, delivery d-1, signed at .*Z\n$/),
      ])
    }
    const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const program = sandbox.cli(['verify', 'body.json', '--secret', secret, '--json', ...given], {})
    expect([await program.ended, JSON.parse(program.stdout())]).toEqual([
      0,
      expect.objectContaining({ verified: true, deliveryId: 'd-1' }),
    ])
  })

  it('shows only real defaults in its help', async () => {
    const { stdout } = await cli('verify --help', {})
    expect(stdout.match(/\(default: \d+\)/g)).toEqual(['(default: 300)'])
  })

  it('takes the secret from a file or an option, or else from WEBHOOK_SECRET', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    sandbox.write('body.json', body)
    sandbox.write('headers.json', JSON.stringify(headers))
    sandbox.write('secret.txt', `${secret}\n`)
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

  it('explains an invalid request and exits with 1', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    sandbox.write('body.json', `${body}\n`)
    sandbox.write('headers.json', JSON.stringify(headers))
    const { code, stdout, stderr } = await cli(
      `verify body.json --headers headers.json --secret ${secret} --json`,
      {},
    )
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      { verified: false, code: 'SIGNATURE_MISMATCH', reason: expect.any(String) },
    ])
    expect(stderr).toMatch(/^✗ invalid: .*a line break was added at its end\n$/)
  })

  it('exits with 2 when an argument is missing or wrong', async () => {
    sandbox.write('body.json', '{}')
    sandbox.write('empty.txt', '\n')
    sandbox.write('secret.txt', secret)
    expect(await cli('verify body.json', {})).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^a webhook secret is required/),
    })
    for (const line of [
      'verify body.json --secret-file none.txt',
      'verify body.json --secret-file empty.txt',
      `verify body.json --secret ${secret} --secret-file secret.txt`,
      `verify body.json --secret ${secret} -H nonsense`,
      `verify body.json --secret ${secret} --headers none.txt`,
      `verify none.json --secret ${secret}`,
    ]) {
      const { code, stderr } = await cli(line, {})
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: /)])
    }
  })

  it('reads one argument from stdin at most', async () => {
    const program = sandbox.cli(['verify', '-', '--headers', '-', '--secret', secret])
    expect(await program.ended).toBe(2)
    expect(program.stderr()).toContain('Only one argument can be read from stdin.')
  })
})

describe('verify and listen', SLOWLY, () => {
  it.each(['verify body.json', 'listen --port 0'])(
    '%s rejects an empty or malformed secret',
    async (command) => {
      sandbox.write('body.json', '{}')
      sandbox.write('bare.txt', 'whsec_\n')
      expect(await cli(command, { WEBHOOK_SECRET: '' })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^the webhook secret is empty/),
      })
      for (const given of ['--secret whsec_', '--secret hunter2', '--secret-file bare.txt']) {
        expect(await cli(`${command} ${given}`, {}), given).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(/^the webhook secret is malformed/),
        })
      }
    },
  )
})

describe('listen', SLOWLY, () => {
  it.each([
    ['--secret-file secret.txt', {}],
    ['', { WEBHOOK_SECRET: secret }],
  ])('checks signatures with a secret that is not on the command line: %j', async (given, env) => {
    sandbox.write('secret.txt', secret)
    const port = await freePort()
    const program = sandbox.cli(`listen --port ${port} ${given}`.trim().split(' '), env)
    await program.find(/Listening/)
    const { body, headers } = await signTestEvent(event, secret)
    const send = (sent: string) =>
      fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: sent })
    expect([(await send(body)).status, (await send(`${body} `)).status]).toEqual([200, 401])
    await program.find(/signature valid[^]*SIGNATURE INVALID/)
  })
})
