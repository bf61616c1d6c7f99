// Runs the samples in Python and Go against a server. Installs their packages first.
//   node --test samples/python-and-go.test.mjs
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { VERIFICATION } from '../packages/console/dist/webhooks/verification.js'
import { exampleServer, KEY } from '../scripts/example-server.mjs'
import { freePort } from '../scripts/free-port.mjs'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const SECRET = `whsec_${randomBytes(32).toString('base64')}`
const work = mkdtempSync(path.join(tmpdir(), 'samples-'))
const python = path.join(work, 'venv/bin/python')
const started = []
const servers = []
let server
let api
let runs = 0

/** Answers in words, slower than the wait of this server, so that a send gets a 202. */
async function* slowly({ message }) {
  runs++
  for (const word of message.split(/(?<= )/)) {
    await delay(400)
    yield word
  }
}

/** Asks a person. A stream gets a heartbeat before the question. */
async function asking({ message, ask }) {
  if (message !== 'Hello') await delay(5_500)
  return ask('Shall I?')
}

/** Starts a server whose agent `echo` is the function. */
async function startWith(agent) {
  const example = await exampleServer({ agents: { agent }, policy: { syncWaitMs: 100 } })
  const runtime = { kind: 'function', handler: 'agent' }
  await example.api('POST', '/v1/agents', { name: 'echo', runtime })
  servers.push(example.server)
  return example
}

before(
  async () => {
    execFileSync('python3', ['-m', 'venv', path.join(work, 'venv')])
    const requirements = path.join(FOLDER, 'python/requirements.txt')
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', '-r', requirements])
    const build = ['build', '-o', `${work}/`, './...']
    execFileSync('go', build, { cwd: path.join(FOLDER, 'go') })
    ;({ server, api } = await startWith(slowly))
  },
  { timeout: 300_000 },
)
after(async () => {
  for (const child of started) child.kill('SIGKILL')
  await Promise.all(servers.map((each) => each.stop()))
  rmSync(work, { recursive: true })
})

/** Runs a sample to its end. Returns its output. */
function outputOf({ url }, command, ...args) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, BASE_URL: url, KEY }
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    started.push(child)
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.on('close', (code) => (code === 0 ? resolve(output) : reject(new Error(`exit ${code}`))))
  })
}

/** Starts a receiver, registers it, and sends genuine and forged requests. */
async function expectToReceive(command, ...args) {
  const port = await freePort()
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  started.push(child)
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const url = `http://127.0.0.1:${port}/`
  const post = (body, headers) =>
    fetch(url, { method: 'POST', body, headers }).then((r) => r.status)
  await until(() => post('{}', {}).catch(() => undefined), 401)

  const webhook = await api('POST', '/v1/webhooks', {
    url,
    events: ['message.responded'],
    secret: SECRET,
  })
  const { id } = await api('POST', `/v1/webhooks/${webhook.id}/test`)
  await until(async () => (await api('GET', `/v1/deliveries/${id}`)).status, 'delivered')

  const event = {
    event: 'message.responded',
    id: '1',
    createdAt: '2026-01-01T00:00:00.000Z',
    data: { response: 'grüß Gott' },
  }
  const { body, headers } = await signTestEvent(event, SECRET)
  assert.equal(await post(body, headers), 204)
  assert.equal(await post(body, headers), 204) // a duplicate
  assert.equal(await post(`${body} `, headers), 401)
  const changes = { 'webhook-timestamp': '1000000000' }
  assert.equal(await post(body, { ...headers, ...changes }), 401)
  assert.equal(await post(body, { ...headers, 'webhook-signature': 'v1' }), 401)
  const tooLong = 'x'.repeat(9 * 1024 * 1024)
  // A receiver that does not read the body can close the connection before its answer arrives.
  assert.equal(await post(tooLong, headers).catch(() => 413), 413)
  assert.equal(output, 'webhook.test\nmessage.responded\n')
}

/** How to call each check of the console: the body comes on stdin, the headers are in HEADERS. */
const VERIFIERS = {
  TypeScript: {
    file: 'verify.ts',
    main: `import { readFileSync } from 'node:fs'
verify(readFileSync(0), JSON.parse(process.env.HEADERS!))`,
    command: [process.execPath, '--disable-warning=ExperimentalWarning', 'verify.ts'],
  },
  Python: {
    file: 'verify.py',
    main: `import json, sys
verify(sys.stdin.buffer.read(), json.loads(os.environ["HEADERS"]))`,
    command: [python, 'verify.py'],
  },
  Go: {
    file: 'verify.go',
    others: {
      'main.go': `package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
)

func main() {
	var values map[string]string
	_ = json.Unmarshal([]byte(os.Getenv("HEADERS")), &values)
	headers := http.Header{}
	for name, value := range values {
		headers.Set(name, value)
	}
	body, _ := io.ReadAll(os.Stdin)
	if verify(body, headers) != nil {
		os.Exit(1)
	}
}`,
    },
    command: ['go', 'run', '.'],
  },
  PHP: {
    file: 'verify.php',
    main: "exit(verify(stream_get_contents(STDIN), json_decode(getenv('HEADERS'), true)) ? 0 : 1);",
    command: ['php', 'verify.php'],
  },
}

/** Calls a check of the console in a process of its own. Returns whether the check passed. */
function passes(language, body, headers) {
  const { command } = VERIFIERS[language]
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, HEADERS: JSON.stringify(headers) }
  const [program, ...args] = command
  const cwd = path.join(work, `verify-${language}`)
  const { status, error } = spawnSync(program, args, { cwd, env, input: body })
  if (error) throw error
  return status === 0
}

async function until(read, wanted) {
  for (const end = Date.now() + 100_000; Date.now() < end; await delay(50))
    if ((await read()) === wanted) return
  assert.fail(`did not become ${wanted} in 100 s`)
}

const PIECES = 'piece: Hello \npiece: to \npiece: all \npiece: of \npiece: you\n'

const samples = [
  { language: 'Python', run: (name) => [python, path.join(FOLDER, `python/${name}.py`)] },
  { language: 'Go', run: (name) => [path.join(work, name)] },
]
for (const { language, run } of samples) {
  describe(`the samples in ${language}`, { timeout: 300_000 }, () => {
    it('send a message once, and poll until its end', async () => {
      const before = runs
      assert.match(await outputOf(server, ...run('send')), /^202.*\nresponded Hello\n$/)
      assert.match(await outputOf(server, ...run('send')), /^200.*\nresponded Hello\n$/) // the same key
      assert.equal(runs, before + 1)
    })
    it('stream an answer', async () => {
      assert.equal(
        await outputOf(server, ...run('stream')),
        `${PIECES}responded Hello to all of you\n`,
      )
    })
    it('end when the agent asks a person', async () => {
      const outputFrom = async (name) => outputOf((await startWith(asking)).server, ...run(name))
      assert.match(await outputFrom('send'), /\ninput_required .*Shall I\?/)
      assert.equal(await outputFrom('stream'), 'input_required\n')
    })
    it('receive webhooks, and refuse forged ones', () => expectToReceive(...run('receiver')))
    it('refuse to start without a secret', () => {
      const [command, ...args] = run('receiver')
      for (const WEBHOOK_SECRET of ['', 'whsec_'])
        assert.throws(() =>
          execFileSync(command, args, {
            env: { ...process.env, WEBHOOK_SECRET, PORT: '0' },
            stdio: 'ignore',
            timeout: 10_000,
          }),
        )
    })
  })
}

for (const [language, code] of Object.entries(VERIFICATION))
  it(`the check of the console in ${language} refuses what is not genuine`, async () => {
    const { file, main = '', others = {} } = VERIFIERS[language]
    const folder = path.join(work, `verify-${language}`)
    mkdirSync(folder)
    symlinkSync(path.join(FOLDER, '../node_modules'), path.join(folder, 'node_modules'))
    for (const name of ['go.mod', 'go.sum'])
      copyFileSync(path.join(FOLDER, 'go', name), path.join(folder, name))
    for (const [name, text] of Object.entries({ ...others, [file]: `${code}\n${main}\n` }))
      writeFileSync(path.join(folder, name), text)
    const event = {
      event: 'message.responded',
      id: '1',
      createdAt: '2026-01-01T00:00:00.000Z',
      data: { response: 'grüß Gott' },
    }
    const { body, headers } = await signTestEvent(event, SECRET)
    const old = await signTestEvent(event, SECRET, { now: Date.now() - 600_000 })
    const two = { ...headers, 'webhook-signature': `v1,bm8= ${headers['webhook-signature']}` }
    assert.deepEqual(
      [
        passes(language, body, headers),
        passes(language, body, two),
        passes(language, `${body} `, headers),
        passes(language, old.body, old.headers),
        passes(language, body, { ...headers, 'webhook-signature': '' }),
        passes(language, body, {}),
      ],
      [true, true, false, false, false, false],
    )
  })
