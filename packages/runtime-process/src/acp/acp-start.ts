// The parts that need the SDK. It loads slowly, so the first agent of the kind loads it.
export { AcpAgent, agentExited, programEnd } from './acp-agent.js'
export { AcpConnection } from './acp-connection.js'
export { reasonOf } from './acp-failure.js'
export { shakeHands } from './acp-handshake.js'
