module oracle

go 1.21
