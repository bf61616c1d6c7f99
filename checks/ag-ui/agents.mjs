// The agents that the clients of this folder call.

/** Lets `gated` end its answer. */
let open
let gate = new Promise((resolve) => (open = resolve))

export function openGate() {
  open()
  gate = new Promise((resolve) => (open = resolve))
}

export const agents = {
  async *gated() {
    const opened = gate
    yield 'The beginning.'
    await opened
    yield ' The end.'
  },

  async *rich({ parts = [] }) {
    const call = { toolCallId: 'c1', toolName: 'orderStatus' }
    yield { type: 'start-step', name: 'look' }
    yield { type: 'reasoning-delta', id: 'r1', text: 'Look the ' }
    yield { type: 'reasoning-delta', id: 'r1', text: 'order up.' }
    yield { type: 'tool-input-start', ...call, title: 'Order status' }
    yield { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"id":' }
    yield { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '"17"}' }
    yield { type: 'tool-input-available', ...call, input: { id: '17' } }
    yield { type: 'tool-output-available', toolCallId: 'c1', output: 'soon', preliminary: true }
    yield { type: 'tool-output-available', toolCallId: 'c1', output: { arrives: 'Friday' } }
    yield { type: 'finish-step' }
    yield { type: 'tool-input-available', toolCallId: 'c2', toolName: 'noResult', input: {} }
    yield 'It arrives on '
    yield { type: 'data', name: 'state', data: { order: '17', seen: parts } }
    yield { type: 'data', name: 'chart', id: 'd1', data: [1, 2] }
    yield { type: 'file', url: 'https://shop.example/invoice.pdf', mediaType: 'application/pdf' }
    yield { type: 'source-url', sourceId: 's1', url: 'https://shop.example/orders/17' }
    yield 'Friday.'
  },

  async *asking({ message, ask }) {
    yield 'Void text.'
    const answer = await ask(`${message}?`, { options: ['yes', 'no'] })
    yield `You said ${answer}.`
  },

  failing: () => Promise.reject(new Error('told to fail')),
}
