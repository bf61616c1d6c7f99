// The parts that need the SDK. It loads slowly, so the first agent of the kind loads it.
export { A2aAgent } from './a2a-agent.js'
export { connect } from './a2a-client.js'
