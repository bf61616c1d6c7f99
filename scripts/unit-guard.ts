// The setup of the project `unit`: its tests open no connection and start no program or thread.
import child from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import threads from 'node:worker_threads'

const refuse = (action: string) =>
  function refused(): never {
    throw new Error(`a unit test ${action}; add its file to NOT_UNIT in vitest.config.ts`)
  }

Object.assign(net.Server.prototype, { listen: refuse('listens on a port') })
Object.assign(net.Socket.prototype, { connect: refuse('connects to a server') })
Object.assign(threads, { Worker: refuse('starts a thread') })
const starts = ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']
for (const name of starts) Object.assign(child, { [name]: refuse('starts a program') })
syncBuiltinESMExports()
