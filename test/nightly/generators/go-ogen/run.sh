. "$TEST/tools.sh"
use_go github.com/ogen-go/ogen/cmd/ogen@v1.24.0 ogen
go mod init check 2> init.log
ogen --target hosting --package hosting openapi.json > ogen.log 2>&1
run_go
